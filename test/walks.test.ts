/** Each operation enters at most so many files. Who adds a file to a walk looks first for one that has its idea already. */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'

/** The most files that a call may enter, by operation and storage. A ceiling is lowered with the walk, and raised with a reason. */
const CEILINGS: Readonly<Record<string, Readonly<Record<string, number>>>> = {
  memory: {
    insert: 98,
    upsert: 118,
    update: 101,
    getOne: 89,
    detokenize: 87,
    query: 118,
    batch: 130,
    uploadFile: 113,
    'HTTP get': 132,
    'HTTP insert': 146,
    'HTTP upload': 157,
    'every operation': 60,
  },
  sqlite: {
    insert: 105,
    upsert: 134,
    update: 115,
    getOne: 101,
    detokenize: 98,
    query: 132,
    batch: 144,
    uploadFile: 133,
    'HTTP get': 146,
    'HTTP insert': 160,
    'HTTP upload': 177,
    'every operation': 68,
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
