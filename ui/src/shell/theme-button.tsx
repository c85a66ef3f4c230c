import { Monitor, Moon, Sun } from "lucide-react";
import { chooseTheme, type Theme, useTheme } from "./theme.ts";

const NEXT: Readonly<Record<Theme, Theme>> = { system: "light", light: "dark", dark: "system" };
const ICON = { system: Monitor, light: Sun, dark: Moon };
const NAME: Readonly<Record<Theme, string>> = { system: "as the system", light: "light", dark: "dark" };

/** Shows a button that switches between three themes: the system's, light and dark. */
export function ThemeButton() {
  const theme = useTheme();
  const Icon = ICON[theme];
  return (
    <button
      type="button"
      className="icon-button"
      onClick={() => chooseTheme(NEXT[theme])}
      aria-label={`Theme: ${NAME[theme]}. Switch to ${NAME[NEXT[theme]]}`}
      title={`Theme: ${NAME[theme]}`}
    >
      <Icon size={17} aria-hidden="true" />
    </button>
  );
}
