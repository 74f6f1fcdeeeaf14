/** What an editor shows in a file that imports the package: the text of a hover, and the completions inside a string. */
import { join } from 'node:path'
import ts from 'typescript'
import { compilerOptions } from './open-program.ts'

const ROOT = join(import.meta.dirname, '../../..')
const FILE = join(ROOT, 'test/inference/in-the-editor.ts')

/** An open editor. A position is the text that begins there, which must be in the file once. */
export interface Editor {
  /** Returns the type that a hover shows, on one line. */
  hover(position: string): string
  /** Returns the completions after the first quote of the position. */
  completions(position: string): string[]
  /** Returns the errors of the file. */
  errors(): string[]
}

/** Opens a file with this text in an editor. */
export function openEditor(text: string): Editor {
  const options = compilerOptions()
  const service = ts.createLanguageService({
    getCompilationSettings: () => options,
    getScriptFileNames: () => [FILE],
    getScriptVersion: () => '1',
    getScriptSnapshot: (path) => {
      const content = path === FILE ? text : ts.sys.readFile(path)
      return content === undefined ? undefined : ts.ScriptSnapshot.fromString(content)
    },
    getCurrentDirectory: () => ROOT,
    getDefaultLibFileName: ts.getDefaultLibFilePath,
    fileExists: (path) => path === FILE || ts.sys.fileExists(path),
    readFile: (path) => (path === FILE ? text : ts.sys.readFile(path)),
    directoryExists: ts.sys.directoryExists,
    getDirectories: ts.sys.getDirectories,
  })
  const at = (position: string): number => {
    const start = text.indexOf(position)
    if (start < 0 || text.includes(position, start + 1)) throw new Error(`"${position}" must be in the file once`)
    return start
  }
  return {
    hover(position) {
      const parts = service.getQuickInfoAtPosition(FILE, at(position))?.displayParts ?? []
      return ts.displayPartsToString(parts).replace(/\s+/g, ' ')
    },
    completions(position) {
      const start = at(position)
      const quote = text.indexOf("'", start) + 1
      return (service.getCompletionsAtPosition(FILE, quote, {})?.entries ?? []).map(({ name }) => name)
    },
    errors: () =>
      service.getSemanticDiagnostics(FILE).map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, '\n')),
  }
}
