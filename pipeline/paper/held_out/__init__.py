"""Section 3.2: what an encoder does with sentences that it has not been trained on."""
