/** Every path and every link in the documents leads to something that exists. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { expect, it } from 'vitest'

const ROOT = join(import.meta.dirname, '../..')

const pages = [
  'README.md',
  'CONTRIBUTING.md',
  'SECURITY.md',
  'CHANGELOG.md',
  ...readdirSync(join(ROOT, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md'))
    .map((name) => join('docs', name)),
]

const sources = new Set(
  readdirSync(join(ROOT, 'src'), { recursive: true, encoding: 'utf8' }).map((path) => path.split('/').at(-1) ?? ''),
)

/** The page without its examples. */
function textOf(page: string): string {
  return readFileSync(join(ROOT, page), 'utf8').replace(/^```.*?^```/gms, '')
}

/** Files that a run writes and git ignores, and those of a person who uses the command. */
const GENERATED = /^benchmarks\/results\/local-|^(strongroom\.config|schema)\.ts$/

/** Code spans that name a file or a folder of the repository. Names with `<…>` are patterns. */
function pathsIn(text: string): string[] {
  const spans = [...text.matchAll(/`([^`\n]+)`/g)].map((match) => match[1] ?? '')
  return spans.filter(
    (span) => /^[\w./-]+\.ts$|^(src|test|docs|scripts|examples|benchmarks)\/[\w./-]*$/.test(span) && !GENERATED.test(span),
  )
}

/** True for a path from the top of the repository, from `src/core` or from `src/http`, and for the name of a source file. */
function exists(path: string): boolean {
  return [path, join('src/core', path), join('src/http', path)].some((one) => existsSync(join(ROOT, one))) || sources.has(path)
}

/** The anchors of a page, as they are made of its headings. */
function anchorsOf(page: string): string[] {
  return [...textOf(page).matchAll(/^#+ (.*)$/gm)].map((match) =>
    (match[1] ?? '')
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\s_-]/gu, '')
      .replaceAll(' ', '-'),
  )
}

/** Links inside the repository that lead nowhere. */
function brokenLinks(page: string): string[] {
  const targets = [...textOf(page).matchAll(/\]\(([^)\s]+)\)/g)].map((match) => match[1] ?? '')
  return targets.filter((target) => {
    if (/^https?:/.test(target)) return false
    const [path = '', anchor] = target.split('#')
    const file = path === '' ? page : relative(ROOT, join(ROOT, dirname(page), path))
    if (!existsSync(join(ROOT, file))) return true
    return anchor !== undefined && !anchorsOf(file).includes(anchor)
  })
}

it.each(pages)('%s names only paths that exist', (page) => {
  expect(pathsIn(textOf(page)).filter((path) => !exists(path))).toEqual([])
})

it.each(pages)('%s has only links that lead somewhere', (page) => {
  expect(brokenLinks(page)).toEqual([])
})

it('each decision has a number of its own, in its heading and in the index', () => {
  const index = textOf('docs/decisions/README.md')
  const decisions = readdirSync(join(ROOT, 'docs/decisions')).filter((name) => name !== 'README.md')
  const numbers = decisions.map((name) => Number(name.slice(0, 4)))
  expect(new Set(numbers).size).toBe(decisions.length)
  expect(index.match(/^\| \d/gm)).toHaveLength(decisions.length)
  for (const [position, name] of decisions.entries()) {
    const [heading = ''] = textOf(join('docs/decisions', name)).split('\n')
    const [, number, title] = /^# (\d+)\. (.+)$/.exec(heading) ?? []
    expect(Number(number), name).toBe(numbers[position])
    expect(index, name).toContain(`| ${number} | [${title}](${name}) |`)
  }
})
