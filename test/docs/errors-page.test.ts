/** The table of docs/errors.md lists the error codes of src/core/errors.ts with their statuses. */
import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { STATUSES } from '../../src/index.ts'

const TOP = new URL('../..', import.meta.url)

/** Code, HTTP status and gRPC code of each match, in order. */
function codesIn(path: string, pattern: RegExp): string[] {
  return [...readFileSync(new URL(path, TOP), 'utf8').matchAll(pattern)].map((match) => match.slice(1).join(' '))
}

it('docs/errors.md has one row for each error code, with its statuses', () => {
  const codes = Object.entries(STATUSES).map(([code, { http, grpc }]) => `${code} ${http} ${grpc}`)
  expect(codes).toContain('invalid_request 400 3')
  expect(codesIn('docs/errors.md', /^\| `(\w+)` \| (\d+) \| (\d+) \|/gm)).toEqual(codes)
})

it('docs/errors.md says of each error code when it is thrown and what to do', () => {
  const explained = codesIn('docs/errors.md', /^\| `(\w+)` \| \d+ \| \d+ \| [^|]{3,} \| [^|]{3,} \|$/gm)
  expect(explained).toEqual(Object.keys(STATUSES))
})
