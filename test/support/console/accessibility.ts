/** What axe-core finds in a page. It is evaluated by the browser's own protocol, which no content policy hinders. */
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { Page } from 'playwright-core'

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

/** Returns one line for each violation, with the elements. Empty for a page that axe finds nothing in. */
export async function accessibilityFaults(page: Page): Promise<string[]> {
  // As an expression: under trusted types a page makes no script of a text. Once for a document: its text is half a megabyte.
  if (!(await page.evaluate(() => 'axe' in globalThis))) await page.evaluate(AXE)
  return page.evaluate(async () => {
    const options = { resultTypes: ['violations'] }
    const { violations } = (await Reflect.get(globalThis, 'axe').run(options)) as {
      violations: { id: string; nodes: { html: string }[] }[]
    }
    return violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' ')}`)
  })
}
