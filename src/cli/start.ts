import packageJson from "../../package.json" with { type: "json" };
import type { Inheritance } from "../process/inheritance.ts";
import { processIo } from "./process-io.ts";
import { runCli } from "./run-cli.ts";

/** Runs the command line of this process. Resolves to the exit code. */
export async function start(inherited: Inheritance): Promise<number> {
  return await runCli(processIo(packageJson.version, inherited));
}
