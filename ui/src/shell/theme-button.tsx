import { Monitor, Moon, Sun } from "lucide-react";
import { useState } from "react";
import { chooseTheme, chosenTheme, type Theme } from "./theme.ts";

const NEXT: Readonly<Record<Theme, Theme>> = { system: "light", light: "dark", dark: "system" };
const ICON = { system: Monitor, light: Sun, dark: Moon };
const NAME: Readonly<Record<Theme, string>> = { system: "as the system", light: "light", dark: "dark" };

/** Shows a button that switches between three themes: the system's, light and dark. */
export function ThemeButton() {
  const [theme, setTheme] = useState(chosenTheme);
  const Icon = ICON[theme];
  const choose = (): void => {
    chooseTheme(NEXT[theme]);
    setTheme(NEXT[theme]);
  };
  return (
    <button
      type="button"
      className="icon-button"
      onClick={choose}
      aria-label={`Theme: ${NAME[theme]}. Switch to ${NAME[NEXT[theme]]}`}
      title={`Theme: ${NAME[theme]}`}
    >
      <Icon size={17} aria-hidden="true" />
    </button>
  );
}
