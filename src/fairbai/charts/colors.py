"""The colours of all our figures: those of Okabe and Ito, which people with colour-blindness can tell apart."""

BLACK, GREY = "#000000", "#999999"
ORANGE, SKY, GREEN = "#E69F00", "#56B4E9", "#009E73"
BLUE, VERMILLION, PURPLE = "#0072B2", "#D55E00", "#CC79A7"
