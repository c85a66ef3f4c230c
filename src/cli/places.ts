import { join } from "node:path";
import type { StoreOptions } from "../api/store-api.ts";
import { wholePath } from "../core/whole-path.ts";
import { typedPath } from "./typed-path.ts";

/** What decides where things are kept. */
export interface PlaceInputs {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly userHome: string;
  readonly cwd: string;
  /** `--store`. */
  readonly store: string | undefined;
}

/** What a variable names; an empty one counts as unset. Throws `USAGE` for a path that is not absolute. */
function folderIn(env: PlaceInputs["env"], name: string): string | undefined {
  const value = env[name];
  return value === undefined || value === "" ? undefined : wholePath(`$${name}`, value);
}

/**
 * The store: `--store`, else `CHRONICLE_HOME`, else `$XDG_STATE_HOME/chronicle`, else `~/.local/state/chronicle`.
 * The key and the heads: `$XDG_CONFIG_HOME/chronicle`, else `~/.config/chronicle`. Throws `USAGE` for a variable that is no
 * absolute path: whoever sets one means a certain place, and gets no other. `CHRONICLE_HOME` is looked at with `--store`, too:
 * the installed hook hands it on as that option.
 */
export function placesOf(inputs: PlaceInputs): Pick<StoreOptions, "home" | "configFolder" | "userHome"> {
  const { env, cwd, store } = inputs;
  const userHome = wholePath("$HOME", inputs.userHome);
  const own = folderIn(env, "CHRONICLE_HOME");
  const chosen = store === undefined ? own : typedPath(cwd, "--store", store);
  const config = folderIn(env, "XDG_CONFIG_HOME") ?? join(userHome, ".config");
  return { home: chosen ?? usualHome(env, userHome), configFolder: join(config, "chronicle"), userHome };
}

function usualHome(env: PlaceInputs["env"], userHome: string): string {
  return join(folderIn(env, "XDG_STATE_HOME") ?? join(userHome, ".local", "state"), "chronicle");
}
