import { INHERITED } from "../process/inheritance.ts";

// Only now: what the other modules open when they are loaded is not inherited.
const { start } = await import("./start.ts");
process.exitCode = await start(INHERITED);
