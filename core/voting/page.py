"""The page that guests see on their phones: three buttons and a countdown, in one file without external resources."""

import json

_PAGE = """<!doctype html><html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width,initial-scale=1"><title>Somersault</title>
<style nonce="@NONCE@">
body{margin:0;font:18px system-ui,sans-serif;background:#14171c;color:#eceff4;display:flex;flex-direction:column;
height:100vh;height:100dvh;text-align:center}
h1{font-size:22px;margin:18px 12px 4px}#left{font-size:44px;font-weight:700;color:#f0b64a;min-height:56px}
#told{min-height:28px;color:#a7b1be;margin:0 12px 12px}
main{flex:1;display:flex;flex-direction:column;gap:12px;padding:0 14px 18px}
button{flex:1;border:3px solid #303843;border-radius:16px;background:#1c2128;color:#eceff4;font-size:30px;font-weight:700}
button:disabled{opacity:.4}button.chosen{border-color:#4cc38a;background:#24405c}
</style></head><body><h1>Which clip is better?</h1><div id="left" role="timer"></div><p id="told" role="status"></p>
<noscript>Voting needs JavaScript: switch it on in this browser.</noscript>
<main><button data-choice="left" disabled>&#9664; Left</button><button data-choice="tie" disabled>Tie</button>
<button data-choice="right" disabled>Right &#9654;</button></main>
<script id="state" type="application/json">@STATE@</script>
<script nonce="@NONCE@">
"use strict";
const shown=document.getElementById("left"),told=document.getElementById("told");
const buttons=[...document.querySelectorAll("button")];
function fresh(){return[...crypto.getRandomValues(new Uint8Array(16))].map(b=>b.toString(16).padStart(2,"0")).join("");}
function kept(){try{return localStorage.me||(localStorage.me=fresh());}catch(e){return fresh();}}
const me=kept();
let state=JSON.parse(document.getElementById("state").textContent),until=0,chosen="",said="",lost=false;
const words={counted:"Vote recorded. You can change it until time is up.",changed:"Your vote was changed.",
late:"Too late for this pair.",refused:"Too many votes: vote again for the next pair.",
failed:"That did not work: try again.",
offline:"The vote has ended, or the connection is lost. Is your phone on the presenter's network?",
next:"The next pair will appear soon.",closed:"Your vote was counted. The next pair will appear soon."};
function take(next){if(next.round!==state.round)chosen=said="";
else if(said===words.late&&next.seconds>0)said="";state=next;
until=performance.now()+1000*state.seconds;lost=false;draw();}
function tell(text){if(told.textContent!==text)told.textContent=text;}
function draw(){const left=(until-performance.now())/1000,open=left>0;
shown.textContent=open?Math.ceil(left):"";
tell(lost?words.offline:open||said===words.late?said:chosen?words.closed:words.next);
for(const b of buttons){b.disabled=!open;b.classList.toggle("chosen",b.dataset.choice===chosen);}}
async function ask(options){const end=new AbortController(),timer=setTimeout(()=>end.abort(),5000);
try{const reply=await fetch(location.href,{cache:"no-store",signal:end.signal,...options});
return reply.ok?await reply.text():"failed";}catch(e){return"offline";}finally{clearTimeout(timer);}}
async function look(){const text=await ask({});if(text==="offline"){lost=true;draw();}
else if(text!=="failed"){try{const page=new DOMParser().parseFromString(text,"text/html");
take(JSON.parse(page.getElementById("state").textContent));}catch(e){lost=true;draw();}}setTimeout(look,1000);}
let last=Promise.resolve();
async function vote(choice,round){
const verdict=(await ask({method:"POST",headers:{"Content-Type":"application/json"},
body:JSON.stringify({voter:me,round:round,choice:choice})})).trim();
lost=verdict==="offline";
if(round===state.round){said=!lost&&words[verdict]||words.failed;
if(verdict==="counted"||verdict==="changed")chosen=choice;}draw();}
for(const b of buttons)b.addEventListener("click",()=>{const round=state.round;
last=last.then(()=>vote(b.dataset.choice,round));});
take(state);setInterval(draw,200);setTimeout(look,1000);
</script></body></html>
"""


def page(number: int, seconds: float, nonce: str) -> bytes:
    """Return the page of round `number` as HTML. nonce: value with which the Content-Security-Policy allows the page's code"""
    state = json.dumps({"round": number, "seconds": round(seconds, 1)})
    return _PAGE.replace("@NONCE@", nonce).replace("@STATE@", state).encode()
