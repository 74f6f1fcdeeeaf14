/** The schema library is inside the package: no type that applications see names it, and what is used without a vault does not load it. */
import { readdirSync, readFileSync } from 'node:fs'
import { expect, it } from 'vitest'

const TOP = new URL('../../', import.meta.url)

/** An import or re-export of values, and its module. */
const LOADED = /^(?:import|export) (?!type\b)[^'"]*?from '([^']+)'/gm
/** An exported interface, or an exported type up to the next empty line. */
const EXPORTED = /^export (?:interface \w[\s\S]*?^}|type \w[\s\S]*?\n(?=\n))/gm

/** Returns the files and packages that a file loads. */
function loadedBy(path: string, found = new Set<string>()): ReadonlySet<string> {
  if (found.has(path)) return found
  found.add(path)
  if (!path.endsWith('.ts')) return found
  for (const [, module = ''] of readFileSync(new URL(path, TOP), 'utf8').matchAll(LOADED))
    loadedBy(module.startsWith('.') ? new URL(module, `file:///${path}`).pathname.slice(1) : module, found)
  return found
}

it('is not loaded by entry points that are used without a vault', () => {
  expect(loadedBy('src/index.ts')).toContain('zod')
  expect(loadedBy('src/audit-verifier/index.ts')).toContain('src/core/audit/checkpoint.ts')
  for (const path of ['src/public-errors.ts', 'src/audit-verifier/index.ts']) expect(loadedBy(path), path).not.toContain('zod')
})

it('is named by no exported type of core', () => {
  const paths = readdirSync(new URL('src/core', TOP), { recursive: true, encoding: 'utf8' }).filter((path) =>
    path.endsWith('.ts'),
  )
  const types = paths.flatMap((path) =>
    [...readFileSync(new URL(`src/core/${path}`, TOP), 'utf8').matchAll(EXPORTED)].map(([type]) => ({ path, type })),
  )
  expect(types.length).toBeGreaterThan(300)
  expect(types.filter(({ type }) => /\bz\.\w/.test(type))).toEqual([])
})
