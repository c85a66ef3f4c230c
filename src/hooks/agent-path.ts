import { resolve } from "node:path";

/** The agent's own folder, and its root, by the name that each process has for its own. */
const OWN = /^\/+(?:\.\/+)*proc\/+(?:\.\/+)*(?:self|thread-self)\/+(?:\.\/+)*(cwd|root)(?=\/|$)/;

/**
 * A path that an agent's tool names, as an absolute one. `/proc/self/cwd` is the agent's folder there, and `/proc/self/root` its
 * root: the process that answers the hook would take them for its own. What else lies in `/proc` stays as it is.
 */
export function agentPath(cwd: string, path: string): string {
  const [own = "", which] = OWN.exec(path) ?? [];
  if (which === undefined) return resolve(cwd, path);
  return resolve(which === "cwd" ? cwd : "/", `./${path.slice(own.length)}`);
}
