import { INHERITED } from "../process/inheritance.ts";

// This module must be loaded after `inheritance.ts`. Otherwise, the files that it opens would be treated as inherited.
const { start } = await import("./start.ts");
process.exitCode = await start(INHERITED);
