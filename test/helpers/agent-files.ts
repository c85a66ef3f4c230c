/**
 * Examples of agents' settings files, and whether the agent accepts them. `test/agents/settings.long.test.ts` asks the
 * real programs.
 */

export type Agent = "claude" | "codex" | "gemini" | "copilot";

/** Placeholder for the whole `hooks` setting. `EVENT` stands for a single event within it. */
const HOOKS = "@HOOKS";
const EVENT = "@EVENT";

interface PlacedHook {
  readonly event: string;
  readonly command: string;
  /** True if the agent's file has no groups of hooks. */
  readonly isListed?: boolean;
}

/** Replaces the placeholders of a text by a hook for an event, or, without `hook`, by an event that has no hooks. */
export function filledIn(text: string, hook?: PlacedHook): string {
  const grouped = hook && { matcher: "*", hooks: [{ type: "command", command: hook.command }] };
  const group = hook?.isListed === true ? { type: "command", bash: hook.command } : grouped;
  const event = `"${hook?.event ?? "Notification"}": ${JSON.stringify(group === undefined ? [] : [group])}`;
  return text.replaceAll(HOOKS, () => `"hooks": {${event}}`).replaceAll(EVENT, () => event);
}

const OTHER = (hooks: string): string => `{\n  "hooks": {\n    "SessionEnd": ${hooks}, ${EVENT}\n  }\n}\n`;

/**
 * Settings that the agent refuses, so its hooks do not run: agent, name, text, the line of the fault, and the message.
 */
export const REFUSED: readonly (readonly [Agent, string, string, number, RegExp])[] = [
  ["claude", "a comment", `{\n  // mine\n  ${HOOKS}\n}\n`, 2, /a comment/],
  ["claude", "a block comment", `{${HOOKS}} /* mine */`, 1, /a comment/],
  ["claude", "a trailing comma", `{\n  ${HOOKS},\n}\n`, 3, /comma before a closing bracket/],
  ["claude", "single quotes", `{'model': "opus", ${HOOKS}}`, 1, /double quotes/],
  ["claude", "a tab in a text", `{"model": "a\tb", ${HOOKS}}`, 1, /control character/],
  ["claude", "text behind the end", `{${HOOKS}}\n{}`, 2, /behind the end|that JSON does not have/],
  ["claude", "nothing", "", 1, /empty/],
  ["claude", "a hook without a type", OTHER('[{"hooks": [{"command": "true"}]}]'), 3, /has no "type"/],
  [
    "claude",
    "a hook of no known type",
    OTHER('[{"hooks": [{"type": "z", "command": "true"}]}]'),
    3,
    /type is not one of/,
  ],
  ["claude", "a group without hooks", OTHER('[{"matcher": "*"}]'), 3, /SessionEnd\[0\] has no "hooks"/],
  ["claude", "a group that is null", OTHER("[null]"), 3, /SessionEnd\[0\] is not an object/],
  ["claude", "a matcher that is a number", OTHER('[{"matcher": 1, "hooks": []}]'), 3, /matcher is not a string/],
  [
    "claude",
    "a timeout in quotes",
    OTHER('[{"hooks": [{"type": "command", "command": "true", "timeout": "5"}]}]'),
    3,
    /timeout is not a number/,
  ],
  ["claude", "hooks that are null", '{"hooks": null}', 1, /hooks is not an object/],
  ["claude", "a setting of another kind", `{\n${HOOKS},\n"model": 5}`, 3, /model is not a string/],
  ["claude", "a setting that is null", `{"model": null, ${HOOKS}}`, 1, /model is not a string/],
  ["claude", "days in quotes", `{"cleanupPeriodDays": "x", ${HOOKS}}`, 1, /cleanupPeriodDays is not a number/],
  [
    "claude",
    "permissions that are no list",
    `{"permissions": {"allow": "x"}, ${HOOKS}}`,
    1,
    /permissions.allow is not a list/,
  ],
  ["claude", "a switch in quotes", `{"disableAllHooks": "true", ${HOOKS}}`, 1, /disableAllHooks is not a boolean/],
  ["codex", "a comment", `{\n// mine\n${HOOKS}}`, 2, /a comment/],
  ["codex", "a trailing comma", `{${HOOKS},}`, 1, /comma before a closing bracket/],
  ["codex", "a byte order mark", `\uFEFF{${HOOKS}}`, 1, /byte order mark/],
  [
    "codex",
    "a name of another agent's settings",
    `{\n"$schema": "x", ${HOOKS}}`,
    2,
    /\$schema is not a setting of this file/,
  ],
  [
    "codex",
    "a name twice",
    `{"hooks": {${EVENT}, "Stop": [],\n"Stop": []}}`,
    2,
    /hooks.Stop occurs twice in one object/,
  ],
  ["codex", "an event that is null", OTHER("null"), 3, /SessionEnd is not a list/],
  ["codex", "a hook without a command", OTHER('[{"hooks": [{"type": "command"}]}]'), 3, /has no "command"/],
  ["codex", "an http hook", OTHER('[{"hooks": [{"type": "http", "url": "http://x"}]}]'), 3, /type is not one of/],
  [
    "codex",
    "half a second",
    OTHER('[{"hooks": [{"type": "command", "command": "x", "timeout": 1.5}]}]'),
    3,
    /timeout is not a whole number/,
  ],
  ["gemini", "a trailing comma", `{\n// this one takes comments\n${HOOKS},}`, 3, /comma before a closing bracket/],
  ["gemini", "a byte order mark", `\uFEFF{${HOOKS}}`, 1, /byte order mark/],
  ["gemini", "nothing", "", 1, /empty/],
  ["copilot", "a comment", `{"version": 1, // mine\n${HOOKS}}`, 1, /a comment/],
  ["copilot", "a trailing comma", `{"version": 1,\n${HOOKS},}`, 2, /comma before a closing bracket/],
  ["copilot", "a byte order mark", `\uFEFF{"version": 1, ${HOOKS}}`, 1, /byte order mark/],
  ["copilot", "a version in quotes", `{"version": "1", ${HOOKS}}`, 1, /version is not a number/],
  ["copilot", "hooks that are a list", '{"version": 1,\n"hooks": []}', 2, /hooks is not an object/],
  ["copilot", "a switch that is a text", `{"disableAllHooks": "no", ${HOOKS}}`, 1, /disableAllHooks is not a boolean/],
  ["gemini", "a matcher that is a number", '{"hooks": {"BeforeTool": [{"matcher": 1, "hooks": []}]}}', 1, /matcher/],
];

/** Settings that the agent accepts, so its hooks run: agent, name and text. */
export const TAKEN: readonly (readonly [Agent, string, string])[] = [
  ["claude", "a byte order mark", `\uFEFF{${HOOKS}}\r\n`],
  ["claude", "names that it does not know", `{"zzz": 1, "hooks": {"Bogus": [{"x": 1}], "PreCompact": "x", ${EVENT}}}`],
  [
    "claude",
    "hooks of other kinds",
    OTHER('[{"hooks": [{"type": "command", "command": "true"}, {"type": "prompt", "prompt": "x"}]}]'),
  ],
  [
    "claude",
    "a rule and a variable that it leaves out",
    `{"permissions": {"allow": [5]}, "env": {"A": 1}, "theme": 5, ${HOOKS}}`,
  ],
  ["codex", "events that it does not know", `{"description": "mine", "hooks": {"Bogus": 5, ${EVENT}}}`],
  ["codex", "a group without hooks", OTHER('[{"matcher": null}]')],
  ["copilot", "names and hooks that it does not know", `{"version": 1, "zzz": 1, "hooks": {"Bogus": [5], ${EVENT}}}`],
  ["copilot", "no version, and an event that is no list", `{"hooks": {"Bogus": {}, ${EVENT}}}`],
  ["gemini", "comments", `{\n  // mine\n  ${HOOKS} /* mine */\n}\n`],
  ["gemini", "a hook of no known type", OTHER('[{"hooks": [{"type": "z"}]}]')],
];
