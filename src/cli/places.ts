import { isAbsolute, join, resolve } from "node:path";
import type { StoreOptions } from "../api/store-api.ts";

/** What decides where things are kept. */
export interface PlaceInputs {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly userHome: string;
  readonly cwd: string;
  /** `--store`. */
  readonly store: string | undefined;
}

/** A base folder of the XDG specification: relative ones are to be ignored. */
function xdg(value: string | undefined, fallback: string): string {
  return value !== undefined && isAbsolute(value) ? value : fallback;
}

/**
 * The store: `--store`, else `CHRONICLE_HOME`, else `$XDG_STATE_HOME/chronicle`, else `~/.local/state/chronicle`.
 * The key and the heads: `$XDG_CONFIG_HOME/chronicle`, else `~/.config/chronicle`.
 */
export function placesOf(inputs: PlaceInputs): Pick<StoreOptions, "home" | "configFolder" | "userHome"> {
  const { env, userHome, cwd } = inputs;
  const chosen = inputs.store ?? (env["CHRONICLE_HOME"] || undefined);
  const state = xdg(env["XDG_STATE_HOME"], join(userHome, ".local", "state"));
  const config = xdg(env["XDG_CONFIG_HOME"], join(userHome, ".config"));
  return {
    home: chosen === undefined ? join(state, "chronicle") : resolve(cwd, chosen),
    configFolder: join(config, "chronicle"),
    userHome,
  };
}
