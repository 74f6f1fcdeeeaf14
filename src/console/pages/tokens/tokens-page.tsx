/** The page tokens. */
import type { PageProps } from '../../app/router.ts'
import { Empty } from '../../ui/empty.tsx'
import { Page } from '../../ui/page.tsx'

export function TokensPage({ path }: PageProps) {
  return (
    <Page title={path[0] ?? 'Tokens'}>
      <Empty title="Nothing here yet" />
    </Page>
  )
}
