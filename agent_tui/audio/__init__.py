"""Microphone and speaker. Everything here is 48 kHz mono 16 bit sound in blocks of 10 ms."""
