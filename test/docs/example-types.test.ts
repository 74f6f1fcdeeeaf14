/** Every TypeScript example in the README and the docs compiles under the strict options of the repository, with the types of Node and of browsers. */
import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { allExamples } from '../support/examples/examples-of.ts'

const ROOT = join(import.meta.dirname, '../..')

/** An example shows its results in names that it does not use. */
const OPTIONS = { noUnusedLocals: false, noUnusedParameters: false }

/** Without `lib` as `tsc --init` leaves it, a project has the types of browsers too, and some globals have other types there. */
const LIBRARIES = [
  { types: 'Node', options: OPTIONS },
  { types: 'browsers', options: { ...OPTIONS, lib: ['ESNext', 'DOM', 'DOM.Iterable', 'DOM.AsyncIterable'] } },
]

/** Bodies of responses as in the types of browsers, which many applications have: those of Node make them `unknown`. */
const GLOBALS = 'interface Response { json(): Promise<any> }'

it.each(LIBRARIES)('every example compiles with the types of $types', ({ options }) => {
  const parent = join(ROOT, '.examples')
  mkdirSync(parent, { recursive: true })
  // Two levels below the repository, where examples that import its sources expect them.
  const folder = mkdtempSync(join(parent, 'types-'))
  try {
    writeFileSync(
      join(folder, 'tsconfig.json'),
      JSON.stringify({ extends: '../../tsconfig.json', compilerOptions: options, include: ['*.ts'] }),
    )
    writeFileSync(join(folder, 'globals.d.ts'), GLOBALS)
    for (const { page, line, code } of allExamples()) {
      const name = `${page.replace(/\W/g, '-')}-line-${line}.ts`
      // Without an import or export it would be a script, which shares its names with all others.
      writeFileSync(join(folder, name), `${code}export {}\n`)
    }
    // Beside other tests, one thread has less to do than several, each of which checks what they share.
    const command = [join(ROOT, 'node_modules/typescript-7/bin/tsc'), '-p', folder, '--singleThreaded']
    const { status, stdout } = spawnSync(process.execPath, command, { encoding: 'utf8' })
    expect(status, stdout).toBe(0)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})
