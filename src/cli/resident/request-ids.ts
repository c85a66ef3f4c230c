import type { ActingAs, WorkspaceApi } from "../../api/workspace-api.ts";

type Name = keyof WorkspaceApi & string;

/** The operations that the log recognises by the id of their request. */
const REMEMBERED: ReadonlySet<string> = new Set<Name>(["snapshot", "restore", "undo", "redo", "rollback", "run"]);

type Method = (this: WorkspaceApi, ...args: unknown[]) => unknown;

/**
 * Returns a workspace whose changes have request ids: `request` with the number of the change in the command. A command
 * that is done again, because its answer was lost, numbers its changes in the same way, so that none is made twice.
 * `onChange` is called before each change.
 */
export function withRequestIds(
  workspace: WorkspaceApi,
  request: string,
  onChange: () => void = () => undefined,
  count = { changes: 0 },
): WorkspaceApi {
  return new Proxy(workspace, {
    get: (target, key) => {
      if (key === "as") return (who: ActingAs) => withRequestIds(target.as(who), request, onChange, count);
      const value: unknown = Reflect.get(target, key, target);
      if (typeof value !== "function") return value;
      if (typeof key !== "string" || !REMEMBERED.has(key)) return value.bind(target) as unknown;
      return (...args: unknown[]) => {
        if (args.some(isDryRun)) return (value as Method).apply(target, args);
        count.changes += 1;
        onChange();
        const on = target.as({ requestId: `${request} ${count.changes}` });
        return (Reflect.get(on, key) as Method).apply(on, args);
      };
    },
  });
}

function isDryRun(options: unknown): boolean {
  return typeof options === "object" && options !== null && "dryRun" in options && options.dryRun === true;
}
