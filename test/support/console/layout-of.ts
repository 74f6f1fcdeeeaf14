/** The layout of a page as text: what is drawn where, in which type and color. Fonts are bundled, so it is the same on every machine. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Page } from 'playwright-core'

const FOLDER = join(import.meta.dirname, '../../console/layouts')
/** Pixels by which a box may be off: versions of Chromium round otherwise. */
const TOLERANCE = 3

/** What is looked at: the frame, controls, headings, and every state of a cell. */
const SELECTOR =
  '.side, .main, .head, .foot, dialog, h1, h2, a, button, input, select, label, kbd, .chip, .icon, .level, [role=columnheader], [role=gridcell], [class^=value]'
/** Elements of one page, at most: of a grid, those of its first rows. */
const MAX_ELEMENTS = 80

/** One element: what it is, its box, and how it looks. */
interface Drawn {
  readonly what: string
  /** Left, top, width and height in pixels. */
  readonly box: readonly number[]
  readonly look: string
}

/** Returns the differences between a page and its stored layout, which is written if there is none. `UPDATE_LAYOUTS=1` writes all. */
export async function layoutChanges(page: Page, name: string): Promise<string[]> {
  const now = await drawnIn(page)
  const file = join(FOLDER, `${name}.txt`)
  if (process.env.UPDATE_LAYOUTS === '1' || (!existsSync(file) && process.env.CI === undefined)) {
    mkdirSync(FOLDER, { recursive: true })
    writeFileSync(file, `${now.map(({ what, box, look }) => [what, box.join(' '), look].join('\t')).join('\n')}\n`)
  }
  const stored = readFileSync(file, 'utf8').trimEnd().split('\n').map(parseLine)
  const other = stored.findIndex(({ what }, at) => what !== now[at]?.what)
  // What follows another element is off by one line.
  if (other >= 0) return [`After ${stored[other - 1]?.what}, ${stored[other]?.what} is now ${now[other]?.what ?? 'nothing'}`]
  if (now.length > stored.length) return [`At the end there is also ${now[stored.length]?.what}`]
  return stored.flatMap((one, at) => changesOf(one, now[at] ?? one))
}

function parseLine(line: string): Drawn {
  const [what = '', box = '', look = ''] = line.split('\t')
  return { what, box: box.split(' ').map(Number), look }
}

function changesOf(before: Drawn, after: Drawn): string[] {
  const isOff = before.box.some((value, at) => Math.abs(value - (after.box[at] ?? 0)) > TOLERANCE)
  return [
    ...(isOff ? [`${before.what}: the box ${before.box} is now ${after.box}`] : []),
    ...(before.look === after.look ? [] : [`${before.what}: ${before.look} is now ${after.look}`]),
  ]
}

async function drawnIn(page: Page): Promise<Drawn[]> {
  await page.evaluate(async () => void (await document.fonts.ready))
  return page.evaluate(
    ([selector, max]) => {
      const elements = [...document.querySelectorAll(selector)].filter((one) => one.checkVisibility({ visibilityProperty: true }))
      return elements.slice(0, max).map((one) => {
        const { left, top, width, height } = one.getBoundingClientRect()
        const { color, backgroundColor, fontSize, fontWeight, fontFamily } = getComputedStyle(one)
        const text = (one.getAttribute('aria-label') ?? one.textContent ?? '').replace(/\s+/g, ' ').trim().slice(0, 40)
        return {
          what: `${one.getAttribute('role') ?? one.localName} ${text}`.trim(),
          box: [left, top, width, height].map(Math.round),
          look: [fontSize, fontWeight, fontFamily.split(',')[0], color, backgroundColor].join(' '),
        }
      })
    },
    [SELECTOR, MAX_ELEMENTS] as const,
  )
}
