"""Speed against peers, one script per question, a table as output."""
