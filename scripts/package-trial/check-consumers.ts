/** Compiles consumers against the built declarations, with every supported compiler and every module setting. */
import { copyFileSync } from 'node:fs'
import { join } from 'node:path'
import type { PackedPackage } from './packed-package.ts'
import { createProject } from './project.ts'
import { MODULES, TOP, type Trial } from './trial.ts'

/** Compilers, by the name of their package in node_modules. */
const COMPILERS = ['typescript-5.9', 'typescript', 'typescript-7']
/** What projects add to `strict`. The declarations must hold with these settings and without them. */
const STRICTER = {
  exactOptionalPropertyTypes: true,
  noUncheckedIndexedAccess: true,
  noImplicitOverride: true,
  isolatedModules: true,
}
/** Module settings, the files compiled with each, and the compilers that know them. Default: all. */
interface Resolution {
  readonly module: string
  readonly moduleResolution: string
  readonly extensions: readonly string[]
  readonly compilers?: readonly string[]
  readonly [setting: string]: unknown
}

/** The resolutions that are tried. */
const RESOLUTIONS: readonly Resolution[] = [
  { module: 'nodenext', moduleResolution: 'nodenext', extensions: ['mts', 'cts'] },
  { module: 'esnext', moduleResolution: 'bundler', extensions: ['ts'], ...STRICTER },
  // Later compilers have it no more.
  { module: 'commonjs', moduleResolution: 'node10', extensions: ['ts'], compilers: ['typescript-5.9'] },
]
/** `inferred` exports helpers and values whose types are inferred: they must have declarations. */
const CONSUMERS = ['consumer', 'inferred']
const TYPED = ['better-sqlite3', 'pg', '@opentelemetry/api', '@types/better-sqlite3', '@types/pg', '@types/node']

/** Runs the checks. */
export function checkConsumers(trial: Trial, packed: PackedPackage): void {
  const project = createProject(trial, packed, 'consumers', { packages: TYPED })
  for (const { extensions, compilers = COMPILERS, ...resolution } of RESOLUTIONS) {
    const files = extensions.flatMap((extension) => CONSUMERS.map((name) => ({ name, file: `${name}.${extension}` })))
    for (const { name, file } of files) copyFileSync(join(TOP, `test/package/${name}.ts`), join(project.folder, file))
    const output = { declaration: true, emitDeclarationOnly: true, outDir: 'declarations' }
    const fixed = { target: 'es2023', lib: ['es2023'], types: ['node'], strict: true, skipLibCheck: false, ...output }
    const compilerOptions = { ...resolution, ...fixed }
    project.write('tsconfig.json', JSON.stringify({ compilerOptions, files: files.map(({ file }) => file) }))
    for (const compiler of compilers) {
      project.run(`consumers compile with ${compiler}, ${resolution.moduleResolution}`, 'node', [
        join(MODULES, compiler, 'bin/tsc'),
        '-p',
        'tsconfig.json',
      ])
    }
  }
}
