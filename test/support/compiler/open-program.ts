/** Programs of the TypeScript compiler with the settings of the repository, in which `strongroom` is the source. */
import { join } from 'node:path'
import ts from 'typescript'

const ROOT = join(import.meta.dirname, '../../..')

/** The compiler options of tsconfig.json. */
export function compilerOptions(): ts.CompilerOptions {
  const { config } = ts.readConfigFile(join(ROOT, 'tsconfig.json'), ts.sys.readFile)
  return ts.parseJsonConfigFileContent({ ...config, include: [], files: ['src/index.ts'] }, ts.sys, ROOT).options
}

/** Returns a program of files of the repository, and of others that exist only here: text by path, from the top of the repository. */
export function openProgram(
  paths: readonly string[],
  texts: Readonly<Record<string, string>> = {},
  changed: ts.CompilerOptions = {},
): ts.Program {
  const options = { ...compilerOptions(), ...changed }
  const host = ts.createCompilerHost(options, true)
  const given = new Map(Object.entries(texts).map(([path, text]) => [join(ROOT, path), text]))
  const { fileExists, readFile, getSourceFile } = host
  host.fileExists = (path) => given.has(path) || fileExists(path)
  host.readFile = (path) => given.get(path) ?? readFile(path)
  host.getSourceFile = (path, version, ...rest) => {
    const text = given.get(path)
    return text === undefined ? getSourceFile(path, version, ...rest) : ts.createSourceFile(path, text, version, true)
  }
  return ts.createProgram({ rootNames: [...paths.map((path) => join(ROOT, path)), ...given.keys()], options, host })
}
