import { resolve } from "node:path";

/** The names by which each process finds its own folder and its own root. */
const OWN = /^\/+(?:\.\/+)*proc\/+(?:\.\/+)*(?:self|thread-self)\/+(?:\.\/+)*(cwd|root)(?=\/|$)/;

/**
 * Makes a path that an agent's tool names absolute. In it, `/proc/self/cwd` means the agent's folder and
 * `/proc/self/root` its root: the process that answers the hook would take them for its own. Other paths in `/proc`
 * stay as they are.
 */
export function agentPath(cwd: string, path: string): string {
  const [own = "", which] = OWN.exec(path) ?? [];
  if (which === undefined) return resolve(cwd, path);
  return resolve(which === "cwd" ? cwd : "/", `./${path.slice(own.length)}`);
}
