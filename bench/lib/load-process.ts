import { spawn } from "node:child_process";
import { join } from "node:path";

/**
 * Runs a program of this folder in a process of its own, with a plan as its argument, so that the work of the load
 * generator is not measured as the server's. Resolves to the JSON it prints; rejects if it fails.
 */
export async function loadProcess<Found>(program: string, plan: object): Promise<Found> {
  const argv = [join(import.meta.dirname, program), JSON.stringify(plan)];
  const child = spawn(process.execPath, argv, { stdio: ["ignore", "pipe", "inherit"] });
  const ended = new Promise<number | null>((resolve, reject) => {
    child.once("error", reject);
    child.once("exit", resolve);
  });
  let said = "";
  for await (const piece of child.stdout) said += String(piece);
  const code = await ended;
  if (code !== 0) throw new Error(`${program} ended with ${code}`);
  return JSON.parse(said) as Found;
}
