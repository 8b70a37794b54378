; The Windows installer. build.py calls it where makensis is on the PATH; by hand:
; makensis -DVERSION=0.1.0 -DBUNDLE=C:\path\to\bundle -DICON=C:\path\to\somersault.ico -DOUTPUT=setup.exe somersault.nsi
; It installs for one person, so that nobody has to ask an administrator.

Unicode true
!include "MUI2.nsh"
!include "x64.nsh"

!define UNINSTALL "Software\Microsoft\Windows\CurrentVersion\Uninstall\Somersault"

Name "Somersault ${VERSION}"
OutFile "${OUTPUT}"
RequestExecutionLevel user
InstallDir "$LOCALAPPDATA\Programs\Somersault"
InstallDirRegKey HKCU "${UNINSTALL}" "InstallLocation"
SetCompressor /SOLID lzma
ManifestDPIAware true

!define MUI_ICON "${ICON}"
!define MUI_UNICON "${ICON}"
!define MUI_FINISHPAGE_RUN "$INSTDIR\somersault.exe"
!insertmacro MUI_PAGE_LICENSE "${BUNDLE}\licences\LICENSE.txt"
!insertmacro MUI_PAGE_DIRECTORY
!insertmacro MUI_PAGE_INSTFILES
!insertmacro MUI_PAGE_FINISH
!insertmacro MUI_UNPAGE_CONFIRM
!insertmacro MUI_UNPAGE_INSTFILES
!insertmacro MUI_LANGUAGE "English"

Function .onInit
  ${IfNot} ${RunningX64}
    MessageBox MB_ICONSTOP "This build of Somersault is for 64-bit Windows, and this is a 32-bit one." /SD IDOK
    SetErrorLevel 2
    Quit
  ${EndIf}
FunctionEnd

Section "Somersault"
  ; Files of an older version must not stay among those of this one.
  RMDir /r "$INSTDIR\_internal"
  RMDir /r "$INSTDIR\licences"
  SetOutPath "$INSTDIR"
  File /r "${BUNDLE}\*"
  WriteUninstaller "$INSTDIR\uninstall.exe"
  CreateShortcut "$SMPROGRAMS\Somersault.lnk" "$INSTDIR\somersault.exe"
  WriteRegStr HKCU "${UNINSTALL}" "DisplayName" "Somersault"
  WriteRegStr HKCU "${UNINSTALL}" "DisplayVersion" "${VERSION}"
  WriteRegStr HKCU "${UNINSTALL}" "DisplayIcon" "$INSTDIR\somersault.exe"
  WriteRegStr HKCU "${UNINSTALL}" "InstallLocation" "$INSTDIR"
  WriteRegStr HKCU "${UNINSTALL}" "UninstallString" '"$INSTDIR\uninstall.exe"'
  WriteRegDWORD HKCU "${UNINSTALL}" "NoModify" 1
  WriteRegDWORD HKCU "${UNINSTALL}" "NoRepair" 1
SectionEnd

; Sessions and settings are the person's own and stay.
Section "Uninstall"
  Delete "$SMPROGRAMS\Somersault.lnk"
  RMDir /r "$INSTDIR\_internal"
  RMDir /r "$INSTDIR\licences"
  Delete "$INSTDIR\somersault.exe"
  Delete "$INSTDIR\somersault-cli.exe"
  Delete "$INSTDIR\uninstall.exe"
  RMDir "$INSTDIR"
  DeleteRegKey HKCU "${UNINSTALL}"
SectionEnd
