import { INHERITED } from "../process/inheritance.ts";

// This import must come after `inheritance.ts`, so that files that it opens do not count as inherited.
const { start } = await import("./start.ts");
process.exitCode = await start(INHERITED);
