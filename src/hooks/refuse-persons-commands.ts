import { basename, dirname } from "node:path";
import { WHO_CAN } from "../core/values/agents-role.ts";
import { type GuardedPlace, personsCommandIn } from "../core/shell/persons-commands.ts";
import type { HookCall } from "./hook-call.ts";
import { optional } from "../util/optional.ts";

/** The places that an agent's shell commands must not touch, and the known values of variables in these commands. */
export type Guarded = Omit<GuardedPlace, "cwd">;

/** The absolute paths of the folders with Chronicle's data, and of the user's home folder. */
export interface KeptPlaces {
  readonly home: string;
  readonly configFolder: string;
  readonly userHome?: string | undefined;
}

export function guardedOf({ home, configFolder, userHome }: KeptPlaces): Guarded {
  return {
    folders: [home, configFolder],
    variables: {
      ...optional({ HOME: userHome }),
      ...(basename(home) === "chronicle" ? { XDG_STATE_HOME: dirname(home) } : {}),
      CHRONICLE_HOME: home,
      XDG_CONFIG_HOME: dirname(configFolder),
    },
  };
}

/**
 * Returns the reason to refuse a tool call; `undefined` if the call is allowed. A call is refused if its shell command
 * is reserved for people, or would remove or write anything in Chronicle's folders.
 */
export function refusePersonsCommand({ kind, action, cwd }: HookCall, guarded: Guarded): string | undefined {
  const line = action?.payload.command;
  if (kind !== "before" || line === undefined) return undefined;
  const what = personsCommandIn(line, { ...guarded, cwd: action?.payload.cwd ?? cwd });
  if (what === undefined) return undefined;
  return what.startsWith("/")
    ? `an agent may not do this: ${what} holds, or lies in, Chronicle's record of your work (${WHO_CAN})`
    : `an agent may not do this: \`${what}\` gives up or accepts a history, configures Chronicle, or decides what is recorded (${WHO_CAN})`;
}
