import { INHERITED } from "../process/inheritance.ts";

// Imported only now: files that the other modules open on loading are not inherited.
const { start } = await import("./start.ts");
process.exitCode = await start(INHERITED);
