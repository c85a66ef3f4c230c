import { execFileSync } from "node:child_process";
import type { Project } from "./project.ts";

/** Of no use to anybody: what it may not read, it may not read. */
const NOBODY = 65_534;

/** Acts as somebody whom permissions bind, as they bind everybody but root. */
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
