import { LanguageDescription, syntaxHighlighting } from "@codemirror/language";
import { languages } from "@codemirror/language-data";
import type { Extension } from "@codemirror/state";
import { EditorView, highlightSpecialChars, lineNumbers } from "@codemirror/view";
import { classHighlighter } from "@lezer/highlight";

/** How every editor of the page shows text, whether it can be edited or not. */
export function codeShown(): Extension[] {
  return [
    lineNumbers(),
    EditorView.lineWrapping,
    // What could hide a change, such as a mark of writing direction, is shown as a sign.
    highlightSpecialChars({
      addSpecialChars: /[\u00ad\u061c\u200b-\u200f\u2028-\u202f\u2060-\u206f\ufeff]/g,
      render: specialSign,
    }),
    syntaxHighlighting(classHighlighter),
  ];
}

/** Loads the language of a file, by its name. Resolves to nothing for a name that says none. */
export async function languageOf(path: string): Promise<Extension> {
  const name = path.slice(path.lastIndexOf("/") + 1);
  const found = LanguageDescription.matchFilename(languages, name);
  return found === null ? [] : found.load();
}

const CARRIAGE_RETURN = 13;

/** Few fonts have the picture of a carriage return, so it is shown as programmers write it. */
function specialSign(code: number, description: string | null, picture: string): HTMLElement {
  const element = document.createElement("span");
  element.className = "cm-specialChar";
  element.textContent = code === CARRIAGE_RETURN ? "\\r" : picture;
  element.title = description ?? `U+${code.toString(16).padStart(4, "0").toUpperCase()}`;
  return element;
}
