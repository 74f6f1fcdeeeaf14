/** Compiles consumers against the built declarations, with every supported compiler and every module setting. */
import { copyFileSync } from 'node:fs'
import { join } from 'node:path'
import type { PackedPackage } from './packed-package.ts'
import { createProject } from './project.ts'
import { MODULES, TOP, type Trial } from './trial.ts'

/** Compilers, by the name of their package in node_modules. */
const COMPILERS = ['typescript-5.9', 'typescript', 'typescript-7']
/** Module settings, and the files compiled with each. */
const RESOLUTIONS = [
  { module: 'nodenext', moduleResolution: 'nodenext', files: ['consumer.mts', 'consumer.cts'] },
  { module: 'esnext', moduleResolution: 'bundler', files: ['consumer.ts'] },
]
const TYPED = ['better-sqlite3', 'pg', '@opentelemetry/api', '@types/better-sqlite3', '@types/pg', '@types/node']

/** Runs the checks. */
export function checkConsumers(trial: Trial, packed: PackedPackage): void {
  const project = createProject(trial, packed, 'consumers', { packages: TYPED })
  for (const extension of ['ts', 'mts', 'cts']) {
    copyFileSync(join(TOP, 'test/package/consumer.ts'), join(project.folder, `consumer.${extension}`))
  }
  for (const { files, ...resolution } of RESOLUTIONS) {
    const fixed = { target: 'es2023', lib: ['es2023'], types: ['node'], strict: true, noEmit: true, skipLibCheck: false }
    project.write('tsconfig.json', JSON.stringify({ compilerOptions: { ...resolution, ...fixed }, files }))
    for (const compiler of COMPILERS) {
      project.run(`consumers compile with ${compiler}, ${resolution.moduleResolution}`, 'node', [
        join(MODULES, compiler, 'bin/tsc'),
        '-p',
        'tsconfig.json',
      ])
    }
  }
}
