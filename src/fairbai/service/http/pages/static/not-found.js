// The page for addresses that do not exist.

import { frame } from "./frame.js";

frame();
