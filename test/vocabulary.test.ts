/** Checks that sources and documents use no retired word, and shows for each kind of text that one is found. */
import { readdirSync, readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { unusedAllowances } from './support/architecture/find-retired-words.ts'
import { wordFaults } from './support/architecture/inspect-modules.ts'

const TOP = new URL('..', import.meta.url)
const SOURCES = ['src', 'test', 'benchmarks', 'examples', 'scripts']

const DOCUMENTS = ['docs', 'test', 'benchmarks', 'README.md', 'CONTRIBUTING.md', 'SECURITY.md', 'CHANGELOG.md']

describe('the repository', () => {
  it('uses no retired word in its documents', () => {
    const faults = [...textsIn(DOCUMENTS, /\.md$/)].flatMap(([path, text]) => wordFaults(path, text))
    expect(faults).toEqual([])
  })

  it('needs every allowance of a retired word', () => {
    expect(unusedAllowances(textsIn([...SOURCES, ...DOCUMENTS], /\.(md|ts)$/))).toEqual([])
  })
})

const LANE = 'chain, connection, executor or batch item'
const TOLD = 'record, return, explain or identify'

/** A text, the line of its retired word, the word, and what to use. */
const RETIRED: readonly (readonly [what: string, text: string, line: number, word: string, use: string])[] = [
  ['the part of an identifier', 'const auditLane = 1', 1, 'lane', LANE],
  ['the part of a constant', 'const a = 1\nconst LANE_LOST = 2', 2, 'lane', LANE],
  ['the part of a file name in an import', `import { a } from './lost-lanes.ts'`, 1, 'lanes', LANE],
  ['a whole identifier', 'const b: ChainVerdict = a', 1, 'ChainVerdict', 'VerificationResult'],
  ['the start of a constant', 'const MOST_ROWS = 1', 1, 'MOST_ROWS', 'MAX_…'],
  ['a comment', '/** The caller is told. */', 1, 'told', TOLD],
  ['a string', `throw new Error('nothing was told')`, 1, 'told', TOLD],
  ['a template', 'const a = `it was ${b} told`', 1, 'told', TOLD],
  ['a phrase in a comment over two lines', '/**\n * 60 unless\n * said otherwise.\n */', 2, 'unless said otherwise', 'default'],
  ['the start of a word', 'const normaliser = 1', 1, 'normaliser', 'the American spelling in -ize'],
  ['a pronoun in capitals', '// Whoever asks.', 1, 'whoever', 'the role: caller, operator, attacker, other process'],
]

/** Texts in which a retired word is part of another word, or has its plain meaning. */
const KEPT: readonly (readonly [what: string, text: string])[] = [
  ['a part of a longer word', 'const planes = timestamps + lawn + headers'],
  ['a name that only starts like a retired one', 'const chainVerdictOf = MOSTLY'],
  ['a phrase to keep', '// A token stands for a value. Math.floor(1). Promise.allSettled([]).'],
  ['words of a phrase that punctuation separates', '// Not this unless that. Said otherwise: no.'],
]

describe('a retired word', () => {
  it.each(RETIRED)('is found as %s', (_what, text, line, word, use) => {
    expect(wordFaults('src/a.ts', text)).toEqual([`src/a.ts:${line} has the retired word "${word}"; use ${use}`])
  })

  it('is found in the path of a file', () => {
    expect(wordFaults('src/lost-lanes/a.ts', '')).toEqual([
      `src/lost-lanes/a.ts has the retired word "lanes" in its name; use ${LANE}`,
    ])
  })

  it.each(KEPT)('is not found in %s', (_what, text) => {
    expect(wordFaults('src/a.ts', text)).toEqual([])
  })

  it('is not found in a file that is allowed to use it', () => {
    expect(wordFaults('benchmarks/fixtures/people.ts', `const STREETS = 'Mill Lane'`)).toEqual([])
    expect(wordFaults('benchmarks/fixtures/vault.ts', `const STREETS = 'Mill Lane'`)).toHaveLength(1)
  })
})

describe('an allowance', () => {
  it('is reported if no file needs it', () => {
    const sentences = unusedAllowances(new Map([['benchmarks/fixtures/people.ts', `const STREETS = 'Mill Lane'`]]))
    expect(sentences.some((sentence) => sentence.includes('harbour'))).toBe(true)
    expect(sentences.some((sentence) => sentence.includes('lane'))).toBe(false)
  })
})

/** The texts of files and folders whose name matches, by path from the top of the repository. */
function textsIn(places: readonly string[], name: RegExp): Map<string, string> {
  const paths = places.flatMap((place) =>
    name.test(place)
      ? [place]
      : readdirSync(new URL(place, TOP), { recursive: true, encoding: 'utf8' }).map(
          (path) => `${place}/${path.replaceAll('\\', '/')}`,
        ),
  )
  return new Map(paths.filter((path) => name.test(path)).map((path) => [path, readFileSync(new URL(path, TOP), 'utf8')] as const))
}
