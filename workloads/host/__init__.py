"""The probe host: what it is, and how fit it is to build and measure."""
