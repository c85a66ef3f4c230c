import { INHERITED } from "../process/inheritance.ts";

// `start.ts` is imported dynamically, so that it is loaded after `inheritance.ts`. Otherwise, files that are opened
// while `start.ts` is loaded would be treated as inherited.
const { start } = await import("./start.ts");
process.exitCode = await start(INHERITED);
