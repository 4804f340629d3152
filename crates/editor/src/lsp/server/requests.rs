//! Dispatch of requests.

use lsp_server::ErrorCode;
use lsp_types::request::{
    CodeActionRequest, Completion, DocumentHighlightRequest, DocumentSymbolRequest, FoldingRangeRequest,
    Formatting, GotoDefinition, HoverRequest, InlayHintRequest, PrepareRenameRequest, References, Rename,
    Request, SemanticTokensFullRequest, SemanticTokensRangeRequest, SignatureHelpRequest,
};
use lsp_types::{
    CompletionResponse, DocumentSymbolResponse, GotoDefinitionResponse, PrepareRenameResponse,
    SemanticTokens, SemanticTokensRangeResult, SemanticTokensResult, TextDocumentPositionParams,
};
use serde_json::Value;

use super::Server;
use crate::lsp::actions::actions;
use crate::lsp::completion::completion;
use crate::lsp::formatting::formatting;
use crate::lsp::hints::hints;
use crate::lsp::hover::hover;
use crate::lsp::outline::{folds, outline};
use crate::lsp::signatures::signatures;
use crate::lsp::symbols::{definition, highlights, references, rename, renamed};
use crate::lsp::tokens::tokens;

/// Response, or error code and message.
type Answer = Result<Value, (ErrorCode, String)>;

/// Reads the parameters, calls `answer`, and serializes the response.
fn ask<R: Request>(params: Value, answer: impl FnOnce(R::Params) -> Result<R::Result, String>) -> Answer {
    let params =
        serde_json::from_value(params).map_err(|error| (ErrorCode::InvalidParams, error.to_string()))?;
    let answer = answer(params).map_err(|message| (ErrorCode::RequestFailed, message))?;
    serde_json::to_value(answer).map_err(|error| (ErrorCode::InternalError, error.to_string()))
}

impl Server<'_> {
    /// Returns the response to a request, or `None` if the method is unknown.
    pub(super) fn answer(&mut self, method: &str, params: Value) -> Option<Answer> {
        Some(match method {
            HoverRequest::METHOD => ask::<HoverRequest>(params, |params| {
                let at = params.text_document_position_params;
                Ok(self.at(&at, |_, document, known| hover(document, known, at.position)).flatten())
            }),
            Completion::METHOD => ask::<Completion>(params, |params| {
                let at = params.text_document_position;
                let found = self
                    .at(&at, |server, document, known| {
                        completion(document, known, at.position, server.workshop)
                    })
                    .flatten();
                Ok(found.map(CompletionResponse::List))
            }),
            SignatureHelpRequest::METHOD => ask::<SignatureHelpRequest>(params, |params| {
                let at = params.text_document_position_params;
                Ok(self.at(&at, |_, document, known| signatures(document, known, at.position)).flatten())
            }),
            GotoDefinition::METHOD => ask::<GotoDefinition>(params, |params| {
                let at = params.text_document_position_params;
                let found = self.at(&at, |_, document, known| definition(document, known, at.position));
                Ok(found.map(GotoDefinitionResponse::Array))
            }),
            References::METHOD => ask::<References>(params, |params| {
                let (at, all) = (params.text_document_position, params.context.include_declaration);
                Ok(self.at(&at, |_, document, known| references(document, known, at.position, all)))
            }),
            DocumentHighlightRequest::METHOD => ask::<DocumentHighlightRequest>(params, |params| {
                let at = params.text_document_position_params;
                Ok(self.at(&at, |_, document, known| highlights(document, known, at.position)))
            }),
            PrepareRenameRequest::METHOD => ask::<PrepareRenameRequest>(params, |at| {
                let found = self.at(&at, |_, document, known| renamed(document, known, at.position));
                let found = found.transpose()?;
                Ok(found.map(|(range, placeholder)| PrepareRenameResponse::RangeWithPlaceholder {
                    range,
                    placeholder,
                }))
            }),
            Rename::METHOD => ask::<Rename>(params, |params| {
                let (at, new) = (params.text_document_position, params.new_name);
                self.at(&at, |_, document, known| rename(document, known, at.position, &new)).transpose()
            }),
            _ => return self.answer_about_text(method, params),
        })
    }

    /// Returns the response to a request about a whole text or a range of it, or `None` if the
    /// method is unknown.
    fn answer_about_text(&mut self, method: &str, params: Value) -> Option<Answer> {
        let shown = self.shown;
        Some(match method {
            Formatting::METHOD => ask::<Formatting>(params, |params| {
                let uri = params.text_document.uri;
                self.with(&uri, |server, document, known| formatting(document, known, &server.open()))
                    .transpose()
            }),
            DocumentSymbolRequest::METHOD => ask::<DocumentSymbolRequest>(params, |params| {
                let found =
                    self.with(&params.text_document.uri, |_, document, known| outline(document, known));
                Ok(found.map(DocumentSymbolResponse::Nested))
            }),
            FoldingRangeRequest::METHOD => ask::<FoldingRangeRequest>(params, |params| {
                Ok(self.with(&params.text_document.uri, |_, document, known| folds(document, known)))
            }),
            CodeActionRequest::METHOD => ask::<CodeActionRequest>(params, |params| {
                let uri = params.text_document.uri.clone();
                Ok(self.with(&uri, |server, document, _| actions(document, &params, server.workshop)))
            }),
            InlayHintRequest::METHOD => ask::<InlayHintRequest>(params, |params| {
                let range = params.range;
                let uri = params.text_document.uri;
                Ok(self.with(&uri, |_, document, known| hints(document, known, range, shown)))
            }),
            SemanticTokensFullRequest::METHOD => ask::<SemanticTokensFullRequest>(params, |params| {
                let uri = params.text_document.uri;
                let data = self.with(&uri, |_, document, known| tokens(document, known, None));
                Ok(data.map(|data| SemanticTokensResult::Tokens(SemanticTokens { result_id: None, data })))
            }),
            SemanticTokensRangeRequest::METHOD => ask::<SemanticTokensRangeRequest>(params, |params| {
                let (uri, range) = (params.text_document.uri, params.range);
                let data = self.with(&uri, |_, document, known| tokens(document, known, Some(range)));
                Ok(data
                    .map(|data| SemanticTokensRangeResult::Tokens(SemanticTokens { result_id: None, data })))
            }),
            _ => return None,
        })
    }

    /// Calls `with` on the text that contains a position.
    fn at<T>(
        &mut self,
        at: &TextDocumentPositionParams,
        with: impl FnOnce(&Self, &crate::lsp::Document, &npukit_asm::analysis::Analysis) -> T,
    ) -> Option<T> {
        self.with(&at.text_document.uri, with)
    }
}
