package store

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/starhost/starhost/fragments"
)

// PutAttachments stores attachments, each once: the bytes, or the URL that the model fetches.
func (l *LLM) PutAttachments(ctx context.Context, list ...*fragments.AttachmentRow) error {
	id := func(a *fragments.AttachmentRow) any { return a.ID.String() }
	return putAbsent(ctx, l.db, `SELECT COUNT(*) FROM attachments WHERE id = $1`, list, id, func(missing []*fragments.AttachmentRow) error {
		return l.db.write(ctx, func(ctx context.Context, tx *sql.Tx) error {
			for _, a := range missing {
				if len(a.Content) > maxContent {
					return &schemaError{fmt.Sprintf("got an attachment of %d bytes, want at most %d", len(a.Content), maxContent)}
				}
				var content any // NULL for a URL
				if a.URL == "" {
					content = []byte(a.Content)
				}
				_, err := tx.ExecContext(ctx, `INSERT INTO attachments (id, type, url, content)
SELECT $1, $2, $3, $4 WHERE NOT EXISTS (SELECT 1 FROM attachments WHERE id = $1)`,
					a.ID.String(), nullText(a.Type), nullText(a.URL), content)
				if err != nil {
					return err
				}
			}
			return nil
		})
	})
}

// nullText returns NULL for "", as llm stores it.
func nullText(text string) sql.NullString { return sql.NullString{String: text, Valid: text != ""} }

// Attachment returns the attachment of an id; ok is false if there is none. llm stores the bytes of
// some attachments, and of others only a path or a URL, which are an error: the user can name them.
func (l *LLM) Attachment(ctx context.Context, id fragments.Hash) (a fragments.Attachment, ok bool, err error) {
	err = l.db.read(ctx, func(ctx context.Context, db *sql.DB) error {
		var content []byte
		var kind, path, url sql.NullString
		err := db.QueryRowContext(ctx, `SELECT type, path, url, content FROM attachments WHERE id = $1`, id.String()).
			Scan(&kind, &path, &url, &content)
		switch {
		case err != nil:
			return err
		case content == nil:
			return &schemaError{fmt.Sprintf("%s is an attachment whose bytes llm did not store: name its file or URL", id)}
		case fragments.Sum(string(content)) != id:
			return &schemaError{fmt.Sprintf("the attachment %s has another hash: it was changed", id)}
		}
		a, ok = fragments.Attachment{Content: string(content), Type: kind.String}, true
		return nil
	})
	return a, ok, err
}
