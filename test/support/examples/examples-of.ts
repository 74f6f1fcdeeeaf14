/** The TypeScript examples of the README and the docs: their pages, their code, and what they say they print. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

const ROOT = join(import.meta.dirname, '../../..')

/** One program of a page. */
export interface Example {
  readonly page: string
  readonly line: number
  readonly code: string
  /** The fence is `ts postgres`: an empty database is at DATABASE_URL of the environment. */
  readonly needsPostgres: boolean
}

/** The `ts` blocks of a page. A block that begins with `// continues` belongs to the one before it. */
function examplesOf(page: string): Example[] {
  const examples: Example[] = []
  const text = readFileSync(join(ROOT, page), 'utf8')
  for (const match of text.matchAll(/^```ts( postgres)?\n(.*?)^```/gms)) {
    const [, needs, code = ''] = match
    const last = examples[examples.length - 1]
    if (last !== undefined && code.startsWith('// continues')) examples[examples.length - 1] = { ...last, code: last.code + code }
    else examples.push({ page, line: text.slice(0, match.index).split('\n').length, code, needsPostgres: needs !== undefined })
  }
  return examples
}

/** Every example, in the order of the pages. */
export function allExamples(): readonly Example[] {
  const pages = readdirSync(join(ROOT, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md'))
    .map((name) => join('docs', name))
  return ['README.md', ...pages].flatMap(examplesOf)
}

/** What the comments behind `console.log(…) //` say will be printed. */
export function promisesOf(code: string): string[] {
  return [...code.matchAll(/^\s*console\.log\(.*\) \/\/ (.*)$/gm)].map((match) => match[1] ?? '')
}
