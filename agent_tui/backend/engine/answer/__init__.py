"""An answer while it is made: its model is called, its steps are written, its tools are allowed and run."""
