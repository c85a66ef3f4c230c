import { execFileSync } from "node:child_process";
import type { Project } from "./project.ts";

/** The id of a user without any rights of its own (`nobody`). */
const NOBODY = 65_534;

/**
 * Runs `work` as a user whom permissions restrict. They do not restrict root. So if the test runs as root, this gives
 * the project to `nobody`, and runs `work` as `nobody`.
 */
export async function asSomebody<T>(project: Pick<Project, "base">, work: () => Promise<T>): Promise<T> {
  if (process.geteuid?.() !== 0) return work();
  execFileSync("chown", ["-R", `${NOBODY}:${NOBODY}`, project.base]);
  process.setegid?.(NOBODY);
  process.seteuid?.(NOBODY);
  try {
    return await work();
  } finally {
    process.seteuid?.(0);
    process.setegid?.(0);
  }
}
