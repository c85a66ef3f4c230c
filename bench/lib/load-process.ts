import { spawn } from "node:child_process";
import { join } from "node:path";

/**
 * Runs a program of this folder in a process of its own, so that the load generator does not take the time of the
 * present process. `plan`: the program's argument, passed as JSON. Resolves to the JSON that the program prints;
 * rejects if the program fails.
 */
export async function loadProcess<Found>(program: string, plan: object): Promise<Found> {
  const argv = [join(import.meta.dirname, program), JSON.stringify(plan)];
  const child = spawn(process.execPath, argv, { stdio: ["ignore", "pipe", "inherit"] });
  const ended = new Promise<number | null>((resolve, reject) => {
    child.once("error", reject);
    child.once("exit", resolve);
  });
  let output = "";
  for await (const piece of child.stdout) output += String(piece);
  const code = await ended;
  if (code !== 0) throw new Error(`${program} ended with ${code}`);
  return JSON.parse(output) as Found;
}
