import packageJson from "../../package.json" with { type: "json" };
import { processIo } from "./process-io.ts";
import { runCli } from "./run-cli.ts";

process.exitCode = await runCli(processIo(packageJson.version));
