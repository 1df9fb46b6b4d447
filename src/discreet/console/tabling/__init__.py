"""Tables as pages tell them: of each kind what is wished for, what it would cost, how it is made, how it is shown.

ranges       intervals and quantiles of a column
marginals    tables of a few columns each, that agree with each other
published    tables of places and attributes that add up exactly
drawn        rows with their noise as a chart and its table
"""
