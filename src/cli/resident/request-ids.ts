import type { ActingAs, WorkspaceApi } from "../../api/workspace-api.ts";

type Name = keyof WorkspaceApi & string;

/** The operations that are not done twice under the same request id (see `ActingAs.requestId`). */
const REMEMBERED: ReadonlySet<string> = new Set<Name>([
  "deleteFile",
  "redo",
  "restore",
  "rollback",
  "run",
  "snapshot",
  "undo",
]);

type Method = (this: WorkspaceApi, ...args: unknown[]) => unknown;

/**
 * Returns a view of the workspace that gives each change a request id: `request` and the number of the change within
 * the command. A dry run is no change. If a command is repeated because its answer was lost, the repeated changes have
 * the same numbers, so no change is made twice. Calls `onChange` before each change.
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
