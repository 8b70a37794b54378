"""What is plotted, and the plots."""
