import { execFileSync } from "node:child_process";
import type { Project } from "./project.ts";

/** The id of a user without any rights of its own (`nobody`). */
const NOBODY = 65_534;

/**
 * Runs `work` as a user whom permissions restrict. If the test runs as root, which they do not restrict, changes to
 * `nobody` meanwhile.
 */
export async function asSomebody<T>(project: Project, work: () => Promise<T>): Promise<T> {
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
