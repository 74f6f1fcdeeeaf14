/** Each operation enters at most so many files. Who adds a file to a walk looks first for one that has its idea already. */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'

/** The most files that a call may enter, by operation and storage. A ceiling is lowered with the walk, and raised with a reason. */
const CEILINGS: Readonly<Record<string, Readonly<Record<string, number>>>> = {
  memory: {
    insert: 75,
    upsert: 90,
    update: 76,
    getOne: 64,
    detokenize: 61,
    query: 84,
    batch: 92,
    uploadFile: 86,
    'HTTP get': 91,
    'HTTP insert': 105,
    'HTTP upload': 113,
    'every operation': 46,
  },
  sqlite: {
    insert: 80,
    upsert: 98,
    update: 84,
    getOne: 72,
    detokenize: 69,
    query: 92,
    batch: 100,
    uploadFile: 98,
    'HTTP get': 99,
    'HTTP insert': 114,
    'HTTP upload': 125,
    'every operation': 50,
  },
}

async function walks(): Promise<Readonly<Record<string, Readonly<Record<string, { readonly files: number }>>>>> {
  const program = ['--import', './scripts/resolve-sources.ts', 'scripts/walk.ts', '--json']
  const { stdout } = await promisify(execFile)(process.execPath, program, { cwd: new URL('..', import.meta.url) })
  return JSON.parse(stdout)
}

describe('one warm call', async () => {
  const counted = await walks()
  it.each(Object.keys(CEILINGS))('on %s enters no more files than its ceiling', (storage) => {
    const files = Object.entries(counted[storage] ?? {}).map(([operation, walk]) => [operation, walk.files] as const)
    expect(files.map(([operation]) => operation)).toEqual(Object.keys(CEILINGS[storage] ?? {}))
    const over = files.filter(([operation, count]) => count > (CEILINGS[storage]?.[operation] ?? 0))
    expect(over, '`npm run walk -- <operation>` shows the way').toEqual([])
  })
})
