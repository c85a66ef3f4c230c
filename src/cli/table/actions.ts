import type { CommandSpec } from "./spec.ts";

export const ACTIONS: CommandSpec = {
  name: "actions",
  group: "Look",
  summary: "what agents' tools did, newest first; one of them with what differs now",
  details:
    "An action is one tool call: what it was about to touch was kept before it ran. Text shows the last 20; JSON gives " +
    "all unless --limit says otherwise.",
  args: [{ name: "[action]", description: "an id, its beginning, or the agent's own id of the call" }],
  options: [
    { flags: "--session <id>", description: "only this session's (an id or its beginning)" },
    { flags: "--turn <id>", description: "only this turn's (an id or its beginning)" },
    { flags: "--limit <n>", description: "at most so many, the newest (default 20; 0: all)", value: "count" },
  ],
  examples: [
    { line: "chronicle actions", why: "what was done lately" },
    { line: "chronicle actions 3f2a9c", why: "one action, beside what is there now" },
    { line: "chronicle changes --turn last", why: "what the last turn changed" },
  ],
};

export const ROLLBACK: CommandSpec = {
  name: "rollback",
  group: "Go back",
  summary: "make the files of one action as they were before it",
  details:
    "Whoever changed them since: what is there now is recorded first, and `chronicle undo` brings it again. To take back " +
    "only what the action did, and leave later work, use `chronicle undo --action ID`.",
  args: [{ name: "<action>", description: "an id, its beginning, or the agent's own id of the call" }],
  options: [
    { flags: "--dry-run", description: "say what would be done or refused, change nothing (exit code as without it)" },
    { flags: "--force", description: "leave what cannot be changed and do the rest" },
    {
      flags: "--outside <path>",
      description: "only this path outside of the workspace (absolute; may be repeated)",
      repeated: true,
    },
    { flags: "-y, --yes", description: "do not ask" },
  ],
  examples: [
    { line: "chronicle rollback 3f2a9c --dry-run", why: "see it first" },
    { line: "chronicle rollback 3f2a9c", why: "as it was before that tool call" },
  ],
};
